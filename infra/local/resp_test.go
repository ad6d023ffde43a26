package local

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestEveryKindOfValueIsCopiedAsItStands(t *testing.T) {
	for _, value := range []string{
		"+OK\r\n", "-ERR no\r\n", ":-12\r\n", "$-1\r\n", "$0\r\n\r\n", "$5\r\na\r\nbc\r\n", "*-1\r\n", "*0\r\n",
		"*2\r\n$1\r\na\r\n*1\r\n:1\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(123456789012345678901\r\n", "=7\r\ntxt:abc\r\n", "!3\r\nERR\r\n",
		"%1\r\n+k\r\n:1\r\n", "~2\r\n:1\r\n:2\r\n", ">2\r\n+a\r\n+b\r\n", "|1\r\n+k\r\n+v\r\n+value\r\n",
	} {
		var out bytes.Buffer
		to, from := bufio.NewWriter(&out), bufio.NewReader(strings.NewReader(value+"+next\r\n"))
		err := copyValue(to, from)
		_ = to.Flush()
		rest, _ := from.ReadString('\n')
		if err != nil || out.String() != value || rest != "+next\r\n" {
			t.Errorf("%q is copied as %q, %v; what follows is %q", value, out.String(), err, rest)
		}
	}
}

func TestWhatIsNoRESPIsRefused(t *testing.T) {
	for _, value := range []string{"?1\r\n", "\r\n", "*x\r\n", strings.Repeat("*1\r\n", 100)} {
		if err := copyValue(bufio.NewWriter(&bytes.Buffer{}), bufio.NewReader(strings.NewReader(value))); err == nil {
			t.Errorf("%.20q is taken", value)
		}
	}
	for _, command := range []string{"PING\r\n", "*1\r\n:1\r\n", "*1\r\n$-1\r\n", "*1\r\n$99999999999\r\n"} {
		if _, _, _, err := readCommand(bufio.NewReader(strings.NewReader(command))); !errors.Is(err, errProtocol) {
			t.Errorf("%.20q: %v", command, err)
		}
	}
}

func TestACommandIsReadWhole(t *testing.T) {
	text := "*3\r\n$7\r\nevalsha\r\n$3\r\nabc\r\n$2\r\n\r\n\r\n"
	from := bufio.NewReader(strings.NewReader(text + "*1\r\n"))
	raw, verb, first, err := readCommand(from)
	if err != nil || string(raw) != text || verb != "evalsha" || first != "abc" || from.Buffered() != 4 {
		t.Errorf("%q %q %q %v, %d left", raw, verb, first, err, from.Buffered())
	}
}
