// Package deploy holds what CloudFormation wakes once per deployment: bringing the schema up to date before traffic arrives.
package deploy
