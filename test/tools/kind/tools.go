//go:build tools

// Package tools pins kind for `make deploy`.
package tools

import _ "sigs.k8s.io/kind"
