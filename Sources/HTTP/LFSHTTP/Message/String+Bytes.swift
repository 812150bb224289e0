extension String {
    /// Returns true if all UTF-8 bytes satisfy the condition. `withUTF8` gives contiguous bytes, which `utf8` does not.
    func hasOnly(_ isRight: (UInt8) -> Bool) -> Bool {
        var text = self
        return text.withUTF8 { $0.allSatisfy(isRight) }
    }
}
