// Command judge says what Go itself makes of texts: templates, regular expressions, URLs.
//
// Each line of standard input is a question in JSON, each line of standard output its answer, in
// the same order. It is the reference for what stoker.golang decides without Go.
package main

import (
	"bufio"
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"regexp/syntax"
	"runtime"
	"strconv"
	"text/template"
)

// question is one text and how it is meant to be read.
type question struct {
	Kind string `json:"kind"` // template, calls, regex, perlsyntax, matcher, classes, url, unquote or version
	Text string `json:"text"`
	// Of templates: the name under which the text is parsed, and the functions that there are.
	Name      string   `json:"name"`
	Functions []string `json:"functions"`
}

// answer is what Go says; Error is empty where it takes the text.
type answer struct {
	Error string `json:"error"`
	// Of regular expressions: whether all of an empty text matches.
	Empty bool `json:"empty,omitempty"`
	// Of quoted strings: what they stand for; of the version: Go's own; of calls: their places; of
	// classes: see expressions.go.
	Value string `json:"value,omitempty"`
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	answers := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer answers.Flush()
	decoder, encoder := json.NewDecoder(lines), json.NewEncoder(answers)
	for decoder.More() {
		var asked question
		if err := decoder.Decode(&asked); err != nil {
			panic(err)
		}
		if err := encoder.Encode(judged(asked)); err != nil {
			panic(err)
		}
	}
}

func judged(asked question) answer {
	switch asked.Kind {
	case "template":
		_, err := template.New(asked.Name).Funcs(functions(asked.Functions)).Parse(asked.Text)
		return refused(err)
	case "calls":
		return calls(asked)
	case "regex":
		compiled, err := regexp.Compile(asked.Text)
		if err != nil {
			return refused(err)
		}
		return answer{Empty: compiled.MatchString("")}
	case "perlsyntax":
		_, err := syntax.Parse(asked.Text, syntax.Perl|syntax.DotNL)
		return refused(err)
	case "matcher":
		return matcher(asked.Text)
	case "classes":
		return answer{Value: classes()}
	case "url":
		_, err := url.Parse(asked.Text)
		return refused(err)
	case "unquote":
		value, err := strconv.Unquote(asked.Text)
		return answer{Error: text(err), Value: value}
	case "version":
		return answer{Value: runtime.Version()}
	}
	return answer{Error: "the judge knows nothing of the kind " + asked.Kind}
}

// functions are there by name alone: nothing is executed.
func functions(names []string) template.FuncMap {
	known := template.FuncMap{}
	for _, name := range names {
		known[name] = func(...any) string { return "" }
	}
	return known
}

func refused(err error) answer { return answer{Error: text(err)} }

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
