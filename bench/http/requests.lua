-- What wrk sends: requests of one kind, or of two in turn, each create with an id of its own.
--
--   wrk -t1 -c CONNECTIONS -s requests.lua URL -- WORK CONNECTIONS TAG
--
-- WORK is get, create, settle (promise.create and promise.settle in turn) or cycle (task.create and task.fulfill in turn).
-- TAG makes the ids of this run its own. The second request of a pair is about an id whose create was sent several rounds of all
-- connections before, so that it was answered by then; every answer is checked by its status, which wrk counts.

local FAR = "4000000000000"
local PARAM = '{"headers":{"content-type":"application/json"},"data":"eyJza3UiOiJ0ZWEiLCJjb3VudCI6Mn0="}'
local HEAD = '"head":{"corrId":"5b0f2f5e-7a4d-4f65","version":"2026-04-01"}'

local prefix, lag, count

local function post(body)
  return "POST / HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: " .. #body .. "\r\n\r\n" .. body
end

local function envelope(kind, data)
  return '{"kind":"' .. kind .. '",' .. HEAD .. ',"data":' .. data .. "}"
end

local function create(id)
  return '{"id":"' .. id .. '","timeoutAt":' .. FAR .. ',"param":' .. PARAM .. ',"tags":{"resonate:external":"true"}}'
end

local function first(work, id)
  if work == "cycle" then
    local promise = '{"id":"' .. id .. '","timeoutAt":' .. FAR .. ',"param":' .. PARAM .. ',"tags":{"resonate:target":"poll://any@bench"}}'
    local action = '{"kind":"promise.create",' .. HEAD .. ',"data":' .. promise .. "}"
    return envelope("task.create", '{"pid":"bench","ttl":86400000,"action":' .. action .. "}")
  end
  return envelope("promise.create", create(id))
end

local function second(work, id)
  local data = '{"id":"' .. id .. '","state":"resolved","value":' .. PARAM .. "}"
  if work == "cycle" then
    local action = '{"kind":"promise.settle",' .. HEAD .. ',"data":' .. data .. "}"
    return envelope("task.fulfill", '{"id":"' .. id .. '","version":1,"action":' .. action .. "}")
  end
  return envelope("promise.settle", data)
end

function init(arguments)
  local work, connections = arguments[1], tonumber(arguments[2])
  -- wrk calls request() once to see what it looks like, and does not send that one.
  prefix, lag, count = arguments[3] .. "-", 4 * connections, -1
  if work == "get" then
    local fixed = post(envelope("promise.get", '{"id":"kept"}'))
    request = function() return fixed end
  elseif work == "create" then
    request = function()
      count = count + 1
      return post(first(work, prefix .. count))
    end
  else
    request = function()
      count = count + 1
      local pair = math.ceil(math.max(count, 1) / 2)
      if count % 2 == 1 or pair <= lag then
        return post(first(work, prefix .. count))
      end
      return post(second(work, prefix .. (2 * (pair - lag) - 1)))
    end
  end
end

function done(summary, latency, requests)
  local wrong = summary.errors
  print(string.format(
    '{"requests":%d,"us":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    wrong.status, wrong.connect + wrong.read + wrong.write + wrong.timeout
  ))
end
