package faultproxy

// Rule puts a fault on a call.
type Rule struct {
	Call  Call // empty: every call
	Fault Fault
	Skip  int // so many pass first
	Times int // so many fail; 0: all, until Lift
}

// Inject adds a rule. Of several that match, the first holds.
func (p *Proxy) Inject(r Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, &r)
}

// Lift ends all faults: what hangs breaks off, and from now on all is well.
func (p *Proxy) Lift() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules, p.budget = nil, nil
	close(p.lifted)
	p.lifted = make(chan struct{})
}

// Record begins to note calls; stop ends that and gives them in order.
func (p *Proxy) Record() (stop func() []Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.record, p.recorded = true, nil
	return func() []Call {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.record = false
		return p.recorded
	}
}

// judge notes a call and finds the fault that it is to have, if any.
func (p *Proxy) judge(call Call) (Fault, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.record {
		p.recorded = append(p.recorded, call)
	}
	for _, r := range p.rules {
		if r.Call != "" && r.Call != call {
			continue
		}
		if r.Skip > 0 {
			r.Skip--
			continue
		}
		if r.Times > 0 {
			if r.Times--; r.Times == 0 {
				r.Call = "used up"
			}
		}
		return r.Fault, p.lifted
	}
	return "", nil
}
