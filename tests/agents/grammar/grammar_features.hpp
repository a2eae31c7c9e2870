// The parts of JSON Schema that a grammar can hold, by example.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace troupe::test {

/// A schema, texts that its grammar accepts, and texts that it does not.
struct grammar_feature {
  const char* schema;
  std::vector<std::string> accepted;
  std::vector<std::string> refused;
};
inline std::ostream& operator<<(std::ostream& out, const grammar_feature& f) {
  return out << f.schema;
}

inline const std::vector<grammar_feature> grammar_features{
  {R"({"type":"null"})", {"null"}, {"nul", "null ", "\"null\"", ""}},
  {R"({"type":"boolean"})", {"true", "false"}, {"True", "0", "truefalse"}},
  {R"({"type":"integer"})",
   {"0", "-7", "123456789012345678"},
   {"01", "1.0", "--1", "1234567890123456789", "1e3", "\"1\""}},
  {R"({"type":"integer","minimum":-3,"exclusiveMaximum":120})",
   {"-3", "0", "7", "99", "119"},
   {"-4", "120", "199", "1000", "-0", "00"}},
  {R"({"allOf":[{"type":"integer","minimum":9.5},{"exclusiveMinimum":10,"maximum":1e30}]})",
   {"11", "999999999999999999"},
   {"10", "1", "-11", "1000000000000000000"}},
  {R"({"enum":[1,5],"minimum":2})", {"5"}, {"1"}},
  {R"({"type":"number"})",
   {"0", "-1.5", "1e3", "2.5E-300", "1e+20", "0.30000000000000004"},
   {".5", "1.", "1e", "1e400", "Infinity", "NaN", "0x1"}},
  {R"({"type":"string"})",
   {R"("")", R"("aä😀")", R"("\"\\\n\u0001")", "\"\x7f\""},
   {R"("a)", "\"\n\"", R"("\x")", R"("\u00e4")", R"("\u0041")", R"("a"b")"}},
  {R"({"type":"string","minLength":2,"maxLength":3})",
   {R"("ab")", R"("äöü")", R"("\n\n\n")"},
   {R"("a")", R"("abcd")", R"("\n")"}},
  {R"({"type":["string","null"],"maxLength":1})", {R"("a")", "null"}, {R"("ab")", "1"}},
  {R"({"enum":["a",1,null,true,2.5,["x"],{"k":"v"},"\"]\\"]})",
   {R"("a")", "1", "null", "true", "2.5", R"(["x"])", R"({"k":"v"})", R"({"k": "v"})",
    R"("\"]\\")"},
   {R"("b")", "2", "false", "[]", "{}", R"(["x")"}},
  {R"({"const":"only"})", {R"("only")"}, {R"("onl")", R"("only2")"}},
  {R"({"type":"string","enum":["a",1]})", {R"("a")"}, {"1"}},
  {R"({"type":"array","items":{"type":"integer"}})",
   {"[]", "[1]", "[1,2, 3]"},
   {"[1,]", "[,1]", "[\"a\"]", "[1 ,2]", "[1,  2]", "[1"}},
  {R"({"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3})",
   {"[1,2]", "[1,2,3]"},
   {"[]", "[1]", "[1,2,3,4]"}},
  {R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"}},
  {R"({"prefixItems":[{"type":"integer"},{"type":"null"}],"items":{"type":"boolean"},
       "minItems":1,"maxItems":3})",
   {"[1]", "[1,null]", "[1,null,true]"},
   {"[]", "[null]", "[1,true]", "[1,null,1]", "[1,null,true,true]"}},
  {R"({"prefixItems":[{"type":"integer"}],"items":false})", {"[]", "[1]"}, {"[1,1]"}},
  {R"({"type":"array"})", {"[]", R"([1,{"a":[null]},"x"])"}, {"{}", "[1"}},
  {R"({"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"null"},
       "c":{"type":"boolean"},"d":{"type":"string"}},"required":["b","a"]})",
   {R"({"b":1,"a":null})", R"({"b": 1, "a": null, "c": true, "d": "x"})",
    R"({"b":1,"a":null,"d":""})"},
   {R"({"a":null,"b":1})", R"({"b":1})", R"({})", R"({"b":1,"a":null,"e":1})",
    R"({"b":1,"a":null,"d":"","c":true})", R"({"b":1,"a":null,})", R"({"b":1"a":null})"}},
  {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},
       "c":{"type":"integer"}}})",
   {"{}", R"({"a":1})", R"({"c":1})", R"({"a":1,"c":2})", R"({"b":1, "c":2})",
    R"({"a":1,"b":2,"c":3})"},
   {R"({"d":1})", R"({,"a":1})", R"({"a":1,})", R"({"a":1,"a":2})", R"({"c":1,"a":2})"}},
  {R"({"type":"object","properties":{}})", {"{}"}, {R"({"a":1})"}},
  {R"({"type":"object"})", {"{}", R"({"a":1,"b":[{}]})"}, {R"({a:1})", "[]"}},
  {R"({"type":"object","additionalProperties":{"type":"integer"}})",
   {"{}", R"({"a":1})", R"({"a":1,"b":2})"},
   {R"({"a":"x"})"}},
  {R"({"type":"object","properties":{"ab":{"type":"null"},"ac\n":{"type":"null"}},
       "additionalProperties":{"type":"integer"}})",
   {R"({"ab":null})", R"({"ab":null,"a":1,"":2,"abc":3,"x":4})", R"({"aä":1})", R"({"ac":1})",
    R"({"ac\n":null})", R"({"ac\nx":1})", R"({"\n":1})"},
   {R"({"ab":1})", R"({"a":null})", R"({"x":1,"ab":1})", R"({"\u0061b":1})", R"({"ac\n":1})"}},
  {R"({"type":"object","required":["x"]})",
   {R"({"x":[1]})", R"({"x":1,"y":2})"},
   {"{}", R"({"y":1})"}},
  {R"({"required":["x"],"additionalProperties":{"type":"integer"}})",
   {R"({"x":1})", R"({"x":1,"y":2})"},
   {R"({"x":"a"})", R"({"y":1})"}},
  {R"({"anyOf":[{"type":"integer"},{"type":"object","properties":{"a":{"const":1}}}]})",
   {"5", "{}", R"({"a":1})"},
   {R"({"a":2})", "null"}},
  {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},
       "oneOf":[{"required":["a"]},{"required":["b"]}]})",
   {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":2})"},
   {"{}"}},
  {R"({"anyOf":[{"type":"integer"},{"$ref":"#"},{"anyOf":[{"type":"null"},{"$ref":"#"}]}],
       "title":"x"})",
   {"1", "null"},
   {"\"a\""}},
  {R"({"allOf":[{"type":"object","properties":{"a":{"type":["integer","null"]}},"required":["a"]},
       {"properties":{"a":{"type":["integer","string"]},"b":{"minLength":2}},
        "additionalProperties":false}]})",
   {R"({"a":1})", R"({"a":1,"b":"xy"})"},
   {R"({"a":null})", R"({"a":"x"})", R"({"a":1,"b":"x"})", "{}"}},
  {R"({"type":"string","allOf":[{"minLength":2},{"minLength":1,"maxLength":9},{"maxLength":3}]})",
   {R"("ab")", R"("abc")"},
   {R"("a")", R"("abcd")"}},
  {R"({"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{
       "v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}},
       "required":["v","kids"]}}})",
   {R"({"v":1,"kids":[]})", R"({"v":1,"kids":[{"v":2,"kids":[]},{"v":3,"kids":[]}]})"},
   {R"({"v":1})", R"({"v":1,"kids":[{"v":2}]})"}},
  {R"({"type":"object","properties":{"next":{"$ref":"#"}}})",
   {"{}", R"({"next":{"next":{}}})"},
   {R"({"next":1})"}},
  {R"({"type":"object","properties":{"never":false,"a":true}})",
   {"{}", R"({"a":[1]})"},
   {R"({"never":1})"}},
  {R"({"type":"array","items":false})", {"[]"}, {"[1]"}},
  {R"({})", {"1", "{}", R"([{"a":"b"}, null])", "\"x\""}, {"", "x", "[1"}},
  {R"({"type":"integer","multipleOf":5,"pattern":"x","not":{}})",
   {"1"},
   {"\"x\""}}, // left to a check
};

} // namespace troupe::test
