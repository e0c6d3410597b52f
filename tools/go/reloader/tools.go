//go:build tools

// Package tools names the config reloader of prometheus-operator, which is the default image.
package tools

import _ "github.com/prometheus-operator/prometheus-operator/cmd/prometheus-config-reloader"
