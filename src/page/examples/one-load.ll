; Two relaxed loads of one place become one.
define i32 @src(ptr %x) {
  %a = load atomic i32, ptr %x monotonic, align 4
  %b = load atomic i32, ptr %x monotonic, align 4
  %s = add i32 %a, %b
  ret i32 %s
}
define i32 @tgt(ptr %x) {
  %a = load atomic i32, ptr %x monotonic, align 4
  %s = add i32 %a, %a
  ret i32 %s
}
