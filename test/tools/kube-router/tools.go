//go:build tools

// Package tools pins what enforces network policies in the test cluster.
package tools

import _ "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router"
