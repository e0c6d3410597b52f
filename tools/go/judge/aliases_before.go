//go:build !go1.25

package main

var aliases = map[string]string{}
