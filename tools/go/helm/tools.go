//go:build tools

// Package tools names Helm, with which the chart is rendered.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
