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

// Reads a mapping whose keys are the Python names of the members; a Value is any object.
template <class T>
T struct_of(py::handle given, const char* argument) {
  if (!py::hasattr(given, "keys")) wrong_type(argument, "an iterable of mappings", given);
  const py::dict members = call(reinterpret_cast<PyObject*>(&PyDict_Type), given);
  T made;
  std::size_t used = 0;
  std::string names;
  each_field<T>([&]<std::size_t I>() {
    constexpr const char* kName = identifier_of(kField<T, I>.field);
    names += (names.empty() ? "" : ", ") + std::string(kName);
    if (!members.contains(kName)) {
      if constexpr (kField<T, I>.presence == Presence::required)
        raise(ErrorClass::invalid, std::string(argument) + " needs a member '" + kName + "', got " + std::string(repr_of(members)));
      return;
    }
    ++used;
    const py::object one = members[kName];
    if constexpr (std::is_same_v<MemberType<T, I>, Value>) {
      kField<T, I>.access(made) = value_of(one, py::none(), kName);
    } else {
      set_member<T, I>(made, one);
    }
  });
  for (const auto& [name, value] : members) {
    if (used == members.size()) break;
    const std::string known = ", " + names + ",";
    if (known.find(", " + std::string(text(name, argument)) + ",") == std::string::npos)
      raise(ErrorClass::invalid, std::string(argument) + " has no member " + std::string(repr_of(name)) + "; there are " + names);
  }
  return made;
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
    } else if constexpr (Described<M> && kField<T, I>.presence == Presence::required) {
      given = read_arguments<Noun>(kField<T, I>.access(to), given);
    } else if constexpr (kIsA<std::vector, M> && !std::is_same_v<M, std::vector<std::string>>) {
      const py::object items = fast_sequence(*given++, kName, "an iterable of mappings");
      for (py::handle one : items) kField<T, I>.access(to).push_back(struct_of<typename M::value_type>(one, kName));
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
