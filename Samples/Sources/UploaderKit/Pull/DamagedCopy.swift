import LFS

/// The local copy of a file is not the recorded bytes.
package struct DamagedCopy: Error, CustomStringConvertible {
    package var description: String {
        "its copy on this device is damaged; 'verify --content --repair' mends it"
    }

    /// Whether an error says so: one of another size is seen when it is opened.
    static func isTold(by error: any Error) -> Bool {
        error is DamagedCopy || (error as? LFSError)?.code == .sourceChanged
    }
}
