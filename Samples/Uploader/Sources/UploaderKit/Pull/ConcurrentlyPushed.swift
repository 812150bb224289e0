/// An error for a file whose place another process has taken since it was examined.
package enum ConcurrentlyPushed: Error, Equatable, CustomStringConvertible {
    /// The name exists by now.
    case name(FilePath)
    /// Another pull is writing the file.
    case part(FilePath)

    package var description: String {
        switch self {
        case .name(let path): "\(path) was created during this pull; pull again to compare it"
        case .part(let path): "\(path) is being written by another pull"
        }
    }
}
