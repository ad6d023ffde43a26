// Package sam guards the deployment: what `sam validate` and cfn-lint let pass although it would fail, or hurt, in AWS.
//
// The tests read the templates as CloudFormation will see them (expand.py runs the SAM translator as a library) and hold each
// rule against them; every rule is also shown a planted violation and has to find it. The one rule about folders and
// targets reads template.yaml without that tool. CheckBinary looks at what `sam build` made.
//
// The other files here are the bodies of make targets: tools.sh installs the pinned SAM tools, validate.sh checks everything
// and builds, local-invoke.sh runs one function in a container against real stores, build.mk holds the targets that
// `sam build` calls.
package sam
