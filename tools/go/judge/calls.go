package main

import (
	"encoding/json"
	"text/template"
	"text/template/parse"
)

// place is where the only argument of a call is written, if it is one string; else At is -1.
type place struct {
	At   int    `json:"at"`
	Text string `json:"text"`
}

// calls are those of the first function that is named, in all trees of a template.
func calls(asked question) answer {
	parsed, err := template.New(asked.Name).Funcs(functions(asked.Functions)).Parse(asked.Text)
	if err != nil {
		return refused(err)
	}
	// A template without anything in it takes no place of its own; all trees are looked through.
	found := walk{function: asked.Functions[0], places: []place{}}
	for _, each := range parsed.Templates() {
		if each.Tree != nil {
			found.list(each.Root)
		}
	}
	value, err := json.Marshal(found.places)
	return answer{Error: text(err), Value: string(value)}
}

type walk struct {
	function string
	places   []place
}

func (w *walk) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.ActionNode:
			w.pipe(node.Pipe)
		case *parse.TemplateNode:
			w.pipe(node.Pipe)
		case *parse.IfNode:
			w.branch(&node.BranchNode)
		case *parse.RangeNode:
			w.branch(&node.BranchNode)
		case *parse.WithNode:
			w.branch(&node.BranchNode)
		}
	}
}

func (w *walk) branch(node *parse.BranchNode) {
	w.pipe(node.Pipe)
	w.list(node.List)
	w.list(node.ElseList)
}

func (w *walk) pipe(pipe *parse.PipeNode) {
	if pipe == nil {
		return
	}
	for number, command := range pipe.Cmds {
		for at, operand := range command.Args {
			w.operand(operand)
			if name, ok := operand.(*parse.IdentifierNode); ok && name.Ident == w.function {
				w.places = append(w.places, argument(pipe, number, at))
			}
		}
	}
}

func (w *walk) operand(node parse.Node) {
	switch node := node.(type) {
	case *parse.PipeNode:
		w.pipe(node)
	case *parse.ChainNode:
		if name, ok := node.Node.(*parse.IdentifierNode); ok && name.Ident == w.function {
			w.places = append(w.places, place{At: -1})
		}
		w.operand(node.Node)
	}
}

// argument is what a call is given: what follows it, and what is piped into it.
func argument(pipe *parse.PipeNode, number, at int) place {
	if at > 0 {
		return place{At: -1}
	}
	given := pipe.Cmds[number].Args[1:]
	if number > 0 {
		before := pipe.Cmds[number-1].Args
		if number > 1 || len(before) > 1 {
			return place{At: -1}
		}
		given = append(append([]parse.Node{}, given...), before[0])
	}
	if len(given) != 1 {
		return place{At: -1}
	}
	return literal(given[0])
}

// literal looks through parentheses around one operand.
func literal(node parse.Node) place {
	for {
		switch found := node.(type) {
		case *parse.StringNode:
			return place{int(found.Position()), found.Quoted}
		case *parse.PipeNode:
			if len(found.Cmds) != 1 || len(found.Cmds[0].Args) != 1 {
				return place{At: -1}
			}
			node = found.Cmds[0].Args[0]
		default:
			return place{At: -1}
		}
	}
}
