package sqs

import (
	"context"
	"net/url"
	"strings"
)

// queueAt finds the queue that a request names by its URL; only the last part of the path counts.
func (s *Server) queueAt(address string) (*Queue, error) {
	if address == "" {
		return nil, errMissing("QueueUrl")
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errNoQueue()
	}
	q := s.Queue(u.Path[strings.LastIndexByte(u.Path, '/')+1:])
	if q == nil {
		return nil, errNoQueue()
	}
	return q, nil
}

type queueURL struct {
	QueueUrl string
}

type createQueueIn struct {
	QueueName  string
	Attributes map[string]string
}

func createQueue(s *Server, _ context.Context, in *createQueueIn) (any, error) {
	q, err := s.CreateQueue(in.QueueName, in.Attributes)
	if err != nil {
		return nil, err
	}
	return queueURL{q.url}, nil
}

type getQueueURLIn struct {
	QueueName string
}

func getQueueURL(s *Server, _ context.Context, in *getQueueURLIn) (any, error) {
	q := s.Queue(in.QueueName)
	if q == nil {
		return nil, errNoQueue()
	}
	return queueURL{q.url}, nil
}

type listQueuesIn struct {
	QueueNamePrefix string
	MaxResults      int
	NextToken       string
}

// listQueues answers all queues at once; pages are refused.
func listQueues(s *Server, _ context.Context, in *listQueuesIn) (any, error) {
	if in.MaxResults != 0 || in.NextToken != "" {
		return nil, errUnsupported("pages of queues")
	}
	urls := []string{}
	for _, q := range s.all() {
		if strings.HasPrefix(q.name, in.QueueNamePrefix) {
			urls = append(urls, q.url)
		}
	}
	return struct{ QueueUrls []string }{urls}, nil
}

type getQueueAttributesIn struct {
	QueueUrl       string
	AttributeNames []string
}

func getQueueAttributes(s *Server, _ context.Context, in *getQueueAttributesIn) (any, error) {
	q, err := s.queueAt(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	attributes, err := q.attributes(in.AttributeNames)
	if err != nil {
		return nil, err
	}
	return struct{ Attributes map[string]string }{attributes}, nil
}

type setQueueAttributesIn struct {
	QueueUrl   string
	Attributes map[string]string
}

func setQueueAttributes(s *Server, _ context.Context, in *setQueueAttributesIn) (any, error) {
	q, err := s.queueAt(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	return nil, s.setAttributes(q, in.Attributes)
}

func purgeQueue(s *Server, _ context.Context, in *queueURL) (any, error) {
	q, err := s.queueAt(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	q.Purge()
	return nil, nil
}
