// Measures asynq on a Redis that somebody else has started: so many no-op tasks are enqueued, then servers run them all.
// Prints one line of JSON. Nothing of it is ours but the loop.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hibiken/asynq"
)

// What one run saw: tasks a second, and processor time.
type rates struct {
	Enqueue float64 `json:"enqueue"`
	Drain   float64 `json:"drain"`
	CPU     float64 `json:"cpu us"` // µs of this process a task
}

// Enqueues from so many goroutines at once, each with its own share; a client is safe to share and keeps a pool of connections.
func enqueue(redis asynq.RedisClientOpt, count, producers int, payload []byte) (time.Duration, error) {
	client := asynq.NewClient(redis)
	defer client.Close()
	task := asynq.NewTask("noop", payload)
	errs := make(chan error, producers)
	began := time.Now()
	for p := 0; p < producers; p++ {
		share := count / producers
		if p < count%producers {
			share++
		}
		go func() {
			for i := 0; i < share; i++ {
				if _, err := client.Enqueue(task); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for p := 0; p < producers; p++ {
		if err := <-errs; err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// From the start of a server until the last task has run. Its handler returns at once.
func drain(redis asynq.RedisClientOpt, count, concurrency int) (time.Duration, error) {
	var left atomic.Int64
	left.Store(int64(count))
	var done sync.WaitGroup
	done.Add(1)
	server := asynq.NewServer(redis, asynq.Config{Concurrency: concurrency, LogLevel: asynq.FatalLevel})
	began := time.Now()
	err := server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		if left.Add(-1) == 0 {
			done.Done()
		}
		return nil
	}))
	if err != nil {
		return 0, err
	}
	done.Wait()
	took := time.Since(began)
	server.Shutdown()
	return took, nil
}

func main() {
	address := flag.String("address", "", "of Redis, host:port")
	count := flag.Int("count", 10000, "tasks")
	producers := flag.Int("producers", 1, "goroutines that enqueue")
	concurrency := flag.Int("concurrency", 1, "tasks that the server runs at once")
	payload := flag.String("payload", "", "of each task")
	flag.Parse()
	redis := asynq.RedisClientOpt{Addr: *address}
	enqueued, err := enqueue(redis, *count, *producers, []byte(*payload))
	if err != nil {
		log.Fatal(fmt.Errorf("enqueue: %w", err))
	}
	drained, err := drain(redis, *count, *concurrency)
	if err != nil {
		log.Fatal(fmt.Errorf("drain: %w", err))
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		log.Fatal(err)
	}
	cpu := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	found := rates{
		Enqueue: float64(*count) / enqueued.Seconds(),
		Drain:   float64(*count) / drained.Seconds(),
		CPU:     float64(cpu.Microseconds()) / float64(*count),
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		log.Fatal(err)
	}
}
