//go:build tools

// Package tools names Prometheus and the checkers of its files, so that go.mod and go.sum pin them.
//
// Prometheus's Go module does not carry the built web interface, so the pages answer 500; the API,
// scraping and rules are complete. Do not set the build tag builtinassets: it needs those files.
package tools

import (
	_ "github.com/prometheus/alertmanager/cmd/amtool"
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
