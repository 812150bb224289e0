/// What a change of the data key has done.
public struct RotationReport: Sendable, Hashable {
    /// Values that are closed with the new key now.
    public internal(set) var rewritten = 0
    /// Keys, or their families, whose values could not be read and stay as they are. Those that no catalog has are
    /// together `an unregistered key`.
    public internal(set) var unreadable: [String] = []
}
