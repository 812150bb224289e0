import LFS

/// The local copy of a file is not the recorded bytes.
package struct DamagedCopy: Error, CustomStringConvertible {
    package var description: String {
        "its copy on this device is damaged; 'verify --content --repair' mends it"
    }

    /// Whether an error says so, or that it cannot be read: one of another size is seen when it is opened.
    static func isTold(by error: any Error) -> Bool {
        if error is DamagedCopy { return true }
        guard let code = (error as? LFSError)?.code else { return false }
        return [.sourceChanged, .sourceFailed, .permissionDenied].contains(code)
    }
}
