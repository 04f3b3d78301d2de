//go:build tools

// Package tools pins the gVisor that the sandbox tests run on.
package tools

import _ "gvisor.dev/gvisor/runsc"
