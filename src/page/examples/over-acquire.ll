; A load moves over an acquire.
define i32 @src(ptr %flag, ptr %data) {
  %f = load atomic i32, ptr %flag acquire, align 4
  %d = load atomic i32, ptr %data monotonic, align 4
  %high = shl i32 %f, 4
  %both = or i32 %high, %d
  ret i32 %both
}
define i32 @tgt(ptr %flag, ptr %data) {
  %d = load atomic i32, ptr %data monotonic, align 4
  %f = load atomic i32, ptr %flag acquire, align 4
  %high = shl i32 %f, 4
  %both = or i32 %high, %d
  ret i32 %both
}
