// Measures River on a database that somebody else has made: so many no-op jobs are inserted in batches of 1,000, then a client works
// them all. Prints one line of JSON. Nothing of it is ours but the loop.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type noop struct {
	Payload string `json:"payload"`
}

func (noop) Kind() string { return "noop" }

type worker struct {
	river.WorkerDefaults[noop]
	left atomic.Int64
	done chan struct{}
}

func (w *worker) Work(context.Context, *river.Job[noop]) error {
	if w.left.Add(-1) == 0 {
		close(w.done)
	}
	return nil
}

func measure(ctx context.Context, url string, count, atOnce int, payload string) (float64, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		return 0, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return 0, err
	}
	its := &worker{done: make(chan struct{})}
	its.left.Store(int64(count))
	workers := river.NewWorkers()
	river.AddWorker(workers, its)
	client, err := river.NewClient(driver, &river.Config{
		Logger:        slog.New(slog.NewTextHandler(io.Discard, nil)),
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: atOnce}},
		Workers:       workers,
		FetchCooldown: time.Millisecond,
	})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	const size = 1000
	for inserted := 0; inserted < count; inserted += size {
		params := make([]river.InsertManyParams, 0, size)
		for i := 0; i < size && inserted+i < count; i++ {
			params = append(params, river.InsertManyParams{Args: noop{Payload: payload}})
		}
		if _, err := client.InsertManyFast(ctx, params); err != nil {
			return 0, fmt.Errorf("insert: %w", err)
		}
	}
	if err := client.Start(ctx); err != nil {
		return 0, err
	}
	<-its.done
	if err := client.Stop(ctx); err != nil { // it completes what has run
		return 0, err
	}
	return float64(count) / time.Since(began).Seconds(), nil
}

func main() {
	url := flag.String("url", "", "of the database")
	count := flag.Int("count", 10000, "jobs")
	atOnce := flag.Int("workers", 100, "jobs that run at once")
	payload := flag.String("payload", "", "of each job")
	flag.Parse()
	rate, err := measure(context.Background(), *url, *count, *atOnce, *payload)
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]float64{"rate": rate}); err != nil {
		log.Fatal(err)
	}
}
