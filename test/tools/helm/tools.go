//go:build tools

// Package tools pins Helm for the tests of the chart.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
