// Measures River on a database that its caller has made: so many no-op jobs are inserted in batches of 1,000, then clients work
// them all, each with connections of its own. Prints one line of JSON: jobs a second of both parts together, and of the second one.
// Nothing of it is ours but the loop.
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

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"golang.org/x/sync/errgroup"
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

// A client with connections of its own.
func connect(ctx context.Context, url string, workers *river.Workers, atOnce int) (*river.Client[pgx.Tx], *pgxpool.Pool, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Logger:        slog.New(slog.NewTextHandler(io.Discard, nil)),
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: atOnce}},
		Workers:       workers,
		FetchCooldown: time.Millisecond,
	})
	return client, pool, err
}

func migrate(ctx context.Context, url string) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func measure(ctx context.Context, url string, count, clients, atOnce int, payload string) (map[string]float64, error) {
	if err := migrate(ctx, url); err != nil {
		return nil, err
	}
	its := &worker{done: make(chan struct{})}
	its.left.Store(int64(count))
	workers := river.NewWorkers()
	river.AddWorker(workers, its)
	all := make([]*river.Client[pgx.Tx], clients)
	for i := range all {
		client, pool, err := connect(ctx, url, workers, atOnce)
		if err != nil {
			return nil, err
		}
		defer pool.Close()
		all[i] = client
	}
	began := time.Now()
	const size = 1000
	for inserted := 0; inserted < count; inserted += size {
		params := make([]river.InsertManyParams, 0, size)
		for i := 0; i < size && inserted+i < count; i++ {
			params = append(params, river.InsertManyParams{Args: noop{Payload: payload}})
		}
		if _, err := all[0].InsertManyFast(ctx, params); err != nil {
			return nil, fmt.Errorf("insert: %w", err)
		}
	}
	inserted := time.Now()
	for _, client := range all {
		if err := client.Start(ctx); err != nil {
			return nil, err
		}
	}
	<-its.done
	var stopping errgroup.Group
	for _, client := range all {
		stopping.Go(func() error { return client.Stop(ctx) }) // it completes what has run
	}
	if err := stopping.Wait(); err != nil {
		return nil, err
	}
	jobs := float64(count)
	return map[string]float64{"rate": jobs / time.Since(began).Seconds(), "worked": jobs / time.Since(inserted).Seconds()}, nil
}

func main() {
	url := flag.String("url", "", "of the database")
	count := flag.Int("count", 10000, "jobs")
	clients := flag.Int("clients", 1, "clients that work the jobs")
	atOnce := flag.Int("workers", 100, "jobs that run at once in each client")
	payload := flag.String("payload", "", "of each job")
	flag.Parse()
	rates, err := measure(context.Background(), *url, *count, *clients, *atOnce, *payload)
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(rates); err != nil {
		log.Fatal(err)
	}
}
