import LFS

/// An error for a local copy whose bytes differ from the recorded ones.
package struct CorruptCopy: Error, CustomStringConvertible {
    package var description: String {
        "its local copy is damaged; 'verify --content --repair' repairs it"
    }

    /// Returns true if an error means that the local copy is damaged or unreadable. A copy with another size is
    /// detected when it is opened.
    static func isTold(by error: any Error) -> Bool {
        if error is CorruptCopy { return true }
        guard let code = (error as? LFSError)?.code else { return false }
        return [.sourceChanged, .sourceFailed, .permissionDenied].contains(code)
    }
}
