// libpq, PostgreSQL's client library. It is loaded when the first store of PostgreSQL opens, so that the module runs without it.
#pragma once

#include <libpq-fe.h>

namespace resonate {

#define RESONATE_LIBPQ_FUNCTIONS(F) \
  F(PQconninfoParse)                \
  F(PQconninfoFree)                 \
  F(PQfreemem)                      \
  F(PQconnectStartParams)           \
  F(PQconnectPoll)                  \
  F(PQstatus)                       \
  F(PQfinish)                       \
  F(PQsocket)                       \
  F(PQerrorMessage)                 \
  F(PQserverVersion)                \
  F(PQparameterStatus)              \
  F(PQsetnonblocking)               \
  F(PQsetNoticeReceiver)            \
  F(PQenterPipelineMode)            \
  F(PQpipelineSync)                 \
  F(PQsendPrepare)                  \
  F(PQsendQueryPrepared)            \
  F(PQsendQueryParams)              \
  F(PQflush)                        \
  F(PQconsumeInput)                 \
  F(PQnotifies)                     \
  F(PQbackendPID)                   \
  F(PQisBusy)                       \
  F(PQgetResult)                    \
  F(PQresultStatus)                 \
  F(PQresultErrorField)             \
  F(PQclear)                        \
  F(PQntuples)                      \
  F(PQgetisnull)                    \
  F(PQgetlength)                    \
  F(PQgetvalue)                     \
  F(PQcmdTuples)                    \
  F(PQgetCancel)                    \
  F(PQcancel)                       \
  F(PQfreeCancel)

struct Libpq {
#define RESONATE_DECLARE(name) decltype(&::name) name = nullptr;
  RESONATE_LIBPQ_FUNCTIONS(RESONATE_DECLARE)
#undef RESONATE_DECLARE
};

// Loads it at the first call. Error (unsupported): there is none, or it is older than version 14.
const Libpq& libpq();

}  // namespace resonate
