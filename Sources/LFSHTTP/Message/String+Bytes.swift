extension String {
    /// Whether all bytes of its UTF-8 are right. They are looked at in one piece, which `utf8` itself does not offer.
    func hasOnly(_ isRight: (UInt8) -> Bool) -> Bool {
        var text = self
        return text.withUTF8 { $0.allSatisfy(isRight) }
    }
}
