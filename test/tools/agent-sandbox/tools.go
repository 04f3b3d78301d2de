//go:build tools

// Package tools pins the sandbox controller of the test cluster, and the service inside its sandboxes.
package tools

import (
	_ "sigs.k8s.io/agent-sandbox/cmd/agent-sandbox-controller"
	_ "sigs.k8s.io/agent-sandbox/packages/sandboxd/cmd/sandboxd"
)
