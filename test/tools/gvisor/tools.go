//go:build tools

// Package tools pins the gVisor that the sandbox tests and the test cluster run on.
package tools

import (
	_ "gvisor.dev/gvisor/runsc"
	_ "gvisor.dev/gvisor/shim"
)
