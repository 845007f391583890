/// Arithmetic on numbers that were decoded. A peer, or a file that a peer has filled, chooses them freely, so a result that does
/// not fit stops at the bound of its type: it neither traps nor wraps round. Decoded numbers meet no other arithmetic, but for
/// what their decoder has bounded.
extension FixedWidthInteger {
  /// The sum, or the bound of the type that it would pass.
  public func saturatingAdding(_ other: Self) -> Self {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  /// The difference, or the bound of the type that it would pass.
  public func saturatingSubtracting(_ other: Self) -> Self {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }

  /// The product, or the bound of the type that it would pass.
  public func saturatingMultiplied(by other: Self) -> Self {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
  }
}
