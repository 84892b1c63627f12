// Asynq as a peer. The protocol with the harness is described in benches/harness/peer.py.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
)

const name = "order"
const note = "a small payload of about a hundred"

// Tasks that a caller of Enqueue has in flight when it wants throughput: Asynq has no call for many tasks.
const inflight = 100

type order struct {
	Task, Url, Queue, Act   string
	Jobs, Payload, Inflight int
	Rate                    float64
	Sleep                   int
	Worker                  struct{ Concurrency int }
}

var lines = bufio.NewScanner(os.Stdin)

func hear(word string) {
	if !lines.Scan() || lines.Text() != word {
		panic(fmt.Sprintf("expected %s, got %s", word, lines.Text()))
	}
}

func ready() {
	fmt.Println("ready")
	hear("go")
}

func done(facts map[string]any) {
	text, _ := json.Marshal(facts)
	fmt.Printf("done %s\n", text)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func payloads(o order) [][]byte {
	text := note + strings.Repeat("x", max(0, o.Payload-100))
	made := make([][]byte, o.Jobs)
	for i := range made {
		made[i], _ = json.Marshal(map[string]any{
			"order": i, "customer": fmt.Sprintf("c-%06d", i), "amount": float64(i%997) + 0.5, "note": text,
		})
	}
	return made
}

func add(o order, redis asynq.RedisConnOpt, inflight int) {
	client := asynq.NewClient(redis)
	defer client.Close()
	check(client.Ping())
	jobs := payloads(o)
	ready()
	var next atomic.Int64
	var adders sync.WaitGroup
	for range inflight {
		adders.Add(1)
		go func() {
			defer adders.Done()
			for i := next.Add(1) - 1; i < int64(len(jobs)); i = next.Add(1) - 1 {
				_, err := client.Enqueue(asynq.NewTask(name, jobs[i]), asynq.Queue(o.Queue))
				check(err)
			}
		}()
	}
	adders.Wait()
	done(map[string]any{})
}

func addPaced(o order, redis asynq.RedisConnOpt) {
	client := asynq.NewClient(redis)
	defer client.Close()
	check(client.Ping())
	ready()
	began := time.Now()
	for i := range o.Jobs {
		time.Sleep(time.Duration(float64(i)/o.Rate*1e9) - time.Since(began))
		data, _ := json.Marshal(map[string]any{"sent": time.Now().UnixNano() / 1000})
		_, err := client.Enqueue(asynq.NewTask(name, data), asynq.Queue(o.Queue))
		check(err)
	}
	done(map[string]any{})
}

func process(o order, redis asynq.RedisConnOpt) {
	var handled atomic.Int64
	var lock sync.Mutex
	latencies := []float64{}
	server := asynq.NewServer(redis, asynq.Config{
		Concurrency: o.Worker.Concurrency, Queues: map[string]int{o.Queue: 1}, LogLevel: asynq.ErrorLevel,
	})
	ready()
	check(server.Start(asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error {
		if o.Act == "record" {
			var data struct{ Sent float64 }
			check(json.Unmarshal(task.Payload(), &data))
			lock.Lock()
			latencies = append(latencies, float64(time.Now().UnixNano()/1000)-data.Sent)
			lock.Unlock()
		}
		time.Sleep(time.Duration(o.Sleep) * time.Millisecond)
		if handled.Add(1) == int64(o.Jobs) {
			fmt.Println("handled")
		}
		return nil
	})))
	hear("stop")
	server.Shutdown()
	done(map[string]any{"handled": handled.Load(), "latencies": latencies})
}

func count(o order, redis asynq.RedisConnOpt) {
	inspector := asynq.NewInspector(redis)
	defer inspector.Close()
	ready()
	waiting := 0
	if info, err := inspector.GetQueueInfo(o.Queue); err == nil {
		waiting = info.Pending + info.Active + info.Retry + info.Scheduled
	}
	done(map[string]any{"waiting": waiting})
}

func main() {
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	identity, _ := json.Marshal(map[string]string{"identity": "asynq 0.26.0, " + runtime.Version()})
	fmt.Println(string(identity))
	for lines.Scan() {
		var o order
		check(json.Unmarshal(lines.Bytes(), &o))
		redis, err := asynq.ParseRedisURI(o.Url)
		check(err)
		switch o.Task {
		case "add_bulk":
			add(o, redis, inflight)
		case "add":
			add(o, redis, 1)
		case "add_concurrent":
			add(o, redis, o.Inflight)
		case "add_paced":
			addPaced(o, redis)
		case "process":
			process(o, redis)
		case "count":
			count(o, redis)
		default:
			panic("no such task: " + o.Task)
		}
	}
}
