; A release store becomes a relaxed one.
define void @src(ptr %x) {
  store atomic i32 1, ptr %x release, align 4
  ret void
}
define void @tgt(ptr %x) {
  store atomic i32 1, ptr %x monotonic, align 4
  ret void
}
