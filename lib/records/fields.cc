#include "lib/records/fields.h"

#include "google/protobuf/descriptor.h"

namespace feedrate {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

void AddSingular(const Message& from, const FieldDescriptor* source,
                 const FieldDescriptor* field, int factor, Message* to) {
  const Reflection& read = *from.GetReflection();
  const Reflection& write = *to->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return write.SetInt32(
          to, field,
          write.GetInt32(*to, field) + factor * read.GetInt32(from, source));
    case FieldDescriptor::CPPTYPE_INT64:
      return write.SetInt64(
          to, field,
          write.GetInt64(*to, field) + factor * read.GetInt64(from, source));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return write.SetDouble(
          to, field,
          write.GetDouble(*to, field) + factor * read.GetDouble(from, source));
    case FieldDescriptor::CPPTYPE_BOOL:
      return write.SetBool(to, field, read.GetBool(from, source));
    case FieldDescriptor::CPPTYPE_STRING:
      return write.SetString(to, field, read.GetString(from, source));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return AddSameFields(read.GetMessage(from, source),
                           write.MutableMessage(to, field), factor);
    default:
      return;  // Sets of bits, which have no sum.
  }
}

void AppendElement(const Message& from, const FieldDescriptor* source, int i,
                   const FieldDescriptor* field, Message* to) {
  const Reflection& read = *from.GetReflection();
  const Reflection& write = *to->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return write.AddInt64(to, field, read.GetRepeatedInt64(from, source, i));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return write.AddDouble(to, field,
                             read.GetRepeatedDouble(from, source, i));
    case FieldDescriptor::CPPTYPE_STRING:
      return write.AddString(to, field,
                             read.GetRepeatedString(from, source, i));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return AddSameFields(read.GetRepeatedMessage(from, source, i),
                           write.AddMessage(to, field));
    default:
      return;  // The schemas have no other lists.
  }
}

}  // namespace

void AddSameFields(const Message& from, Message* to, int factor) {
  const Reflection& read = *from.GetReflection();
  for (int i = 0; i < from.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const source = from.GetDescriptor()->field(i);
    const FieldDescriptor* const field =
        to->GetDescriptor()->FindFieldByName(source->name());
    if (field == nullptr || field->cpp_type() != source->cpp_type() ||
        field->is_repeated() != source->is_repeated() ||
        (source->has_presence() && !read.HasField(from, source))) {
      continue;
    }
    if (!field->is_repeated()) {
      AddSingular(from, source, field, factor, to);
      continue;
    }
    for (int j = 0; j < read.FieldSize(from, source); ++j) {
      AppendElement(from, source, j, field, to);
    }
  }
}

}  // namespace feedrate
