//go:build conformance

package conformance

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// A question is what a tool of 2026-07-28 wants to know before it can answer: the
// client asks its user or model, and calls again.
type question func(*server.InputRequestBuilder)

func ask(key, message, field string) question {
	return func(b *server.InputRequestBuilder) {
		b.Elicit(key, mcp.ElicitationParams{Message: message, RequestedSchema: map[string]any{
			"type": "object", "properties": map[string]any{field: map[string]any{"type": "string"}}, "required": []string{field},
		}})
	}
}

func sample(key, text string) question {
	return func(b *server.InputRequestBuilder) {
		b.Sample(key, mcp.CreateMessageParams{MaxTokens: 100, Messages: []mcp.SamplingMessage{
			{Role: mcp.RoleUser, Content: mcp.NewTextContent(text)},
		}})
	}
}

func roots(b *server.InputRequestBuilder) { b.Roots("client_roots") }

// round is one exchange: what is asked, and the state that has to come back with
// the answers to key.
type round struct {
	key   string
	state string
	ask   []question
}

func (r round) builder() *server.InputRequestBuilder {
	b := server.NewInputRequestBuilder(r.state)
	for _, q := range r.ask {
		q(b)
	}
	return b
}

var errState = errors.New("the request state is not the server's")

// addAsking adds the tools and the prompt that ask before they answer.
func addAsking(s *server.MCPServer) {
	name := ask("user_name", "What is your name?", "name")
	confirm := ask("confirm", "Please confirm", "ok")
	for tool, rounds := range map[string][]round{
		"elicitation":     {{key: "user_name", ask: []question{name}}},
		"sampling":        {{key: "capital_question", ask: []question{sample("capital_question", "What is the capital of France?")}}},
		"list_roots":      {{key: "client_roots", ask: []question{roots}}},
		"request_state":   {{key: "confirm", state: "state-1", ask: []question{confirm}}},
		"tampered_state":  {{key: "confirm", state: "state-1", ask: []question{confirm}}},
		"multiple_inputs": {{key: "user_name", state: "state-1", ask: []question{name, sample("greeting", "Generate a greeting"), roots}}},
		"multi_round": {
			{key: "step1", state: "state-1", ask: []question{ask("step1", "Step 1: What is your name?", "name")}},
			{key: "step2", state: "state-2", ask: []question{ask("step2", "Step 2: What is your favorite color?", "color")}},
		},
		"capabilities": {{key: "capital_question", ask: []question{sample("capital_question", "What is the capital of France?")}}},
	} {
		add(s, "test_input_required_result_"+tool, "Asks before it answers.", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			next, err := nextRound(rounds, r.Params.MultiRoundTripParams)
			if err != nil || next == nil {
				return mcp.NewToolResultText("state-ok"), err
			}
			return next.builder().ToolResult(), nil
		})
	}
	about := []round{{key: "user_context", ask: []question{ask("user_context", "What context should the prompt use?", "context")}}}
	s.AddPrompt(mcp.NewPrompt("test_input_required_result_prompt", mcp.WithPromptDescription("Asks before it answers.")), func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		next, err := nextRound(about, r.Params.MultiRoundTripParams)
		if err != nil || next == nil {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("asked"))}}, err
		}
		return next.builder().PromptResult(), nil
	})
}

// nextRound is nil when everything has been answered.
func nextRound(rounds []round, p mcp.MultiRoundTripParams) (*round, error) {
	for i, r := range rounds {
		answer, answered := server.InputResponse(p.InputResponses, r.key)
		switch {
		case !answered:
		case r.state != p.RequestState:
			return nil, errState
		case answer.DecodeFor(mcp.MethodElicitationCreate) != nil: // no object
			return &rounds[i], nil
		case i+1 < len(rounds):
			return &rounds[i+1], nil
		default:
			return nil, nil
		}
	}
	return &rounds[0], nil
}
