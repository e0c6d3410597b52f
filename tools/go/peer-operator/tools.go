//go:build tools

// Package tools names the operator that ours takes over from, to be run next to it by hand.
package tools

import _ "github.com/prometheus-operator/prometheus-operator/cmd/operator"
