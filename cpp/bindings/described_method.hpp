// Methods that have the members of a request as parameters, by its descriptors (resonate/described.hpp), in their order. Required
// members are given by position or by name, others only by name. There are two exceptions, which are given by position, too: a
// Value, which may be absent and has its headers as another parameter, and the members of a struct, such as an error.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "described_arguments.hpp"
#include "keyword_method.hpp"
#include "open_store.hpp"
#include "value_codec.hpp"

namespace resonate::python {

// The methods of store.queues call their queue `name`.
template <class Noun>
constexpr const char* argument_name(Field field) noexcept {
  return std::is_same_v<Noun, Queues> && field == Field::queue ? "name" : identifier_of(field);
}

// body.operator()<I>(name, type, given) for each parameter of the member I. `Within`: T is a member of a request.
template <class Noun, class T, bool Within = false, class Body>
void each_parameter(Body&& body) {
  each_field<T>([&]<std::size_t I>() {
    using M = MemberType<T, I>;
    constexpr const char* kName = argument_name<Noun>(kField<T, I>.field);
    if constexpr (std::is_same_v<M, Value>) {
      body(kName, AnyValue::type_name(), Given::optional);
      body("headers", StringMapping::type_name(), Given::optional_keyword);
    } else if constexpr (Described<M>) {
      each_parameter<Noun, M, true>(body);
    } else {
      constexpr Given kIfOptional = Within ? Given::optional : Given::optional_keyword;
      body(kName, keyword_type<T, I>(), kField<T, I>.presence == Presence::required ? Given::required : kIfOptional);
    }
  });
}

// Reads the arguments, in the order of each_parameter. Returns those that follow.
template <class Noun, class T>
PyObject* const* read_arguments(T& to, PyObject* const* given) {
  each_field<T>([&]<std::size_t I>() {
    using M = MemberType<T, I>;
    constexpr const char* kName = argument_name<Noun>(kField<T, I>.field);
    if constexpr (std::is_same_v<M, Value>) {
      kField<T, I>.access(to) = value_of(given[0], given[1], kName);
      given += 2;
    } else if constexpr (Described<M>) {
      given = read_arguments<Noun>(kField<T, I>.access(to), given);
    } else {
      set_member<T, I>(to, *given++, kName);
    }
  });
  return given;
}

// The method of a noun for a request: DescribedMethod<JobStart, &run_for_job>::bind(bound, "start").
template <class Request, auto Run>
class DescribedMethod;

template <class Request, class Result, class Noun, Result (*Run)(const Noun&, Operation&&)>
class DescribedMethod<Request, Run> {
 public:
  static void bind(py::class_<Noun>& bound, const char* name) {
    std::vector<Parameter> parameters;
    std::vector<const char*> types;
    each_parameter<Noun, Request>([&](const char* parameter, const char* type, Given given) {
      parameters.push_back({parameter, given});
      types.push_back(type);
    });
    KeywordMethod<&call>::bind(bound, name, parameters, types, result_type().c_str());
  }

 private:
  static Result call(const Noun& self, PyObject* const* given) {
    Operation operation(std::in_place_type<Request>);
    read_arguments<Noun>(std::get<Request>(operation), given);
    return Run(self, std::move(operation));
  }

  static std::string result_type() {
    if constexpr (std::is_void_v<Result>) {
      return "None";
    } else if constexpr (std::is_base_of_v<py::object, Result>) {
      return Result::type_name();
    } else {
      return type_name_of(py::type::of<Result>());
    }
  }
};

}  // namespace resonate::python
