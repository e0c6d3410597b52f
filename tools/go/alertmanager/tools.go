//go:build tools

// Package tools names Alertmanager, in the last module version that carries its built web assets.
package tools

import _ "github.com/prometheus/alertmanager/cmd/alertmanager"
