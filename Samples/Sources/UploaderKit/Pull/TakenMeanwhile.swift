/// Somebody else has come first to the place of a file, since it was looked at.
package enum TakenMeanwhile: Error, Equatable, CustomStringConvertible {
    /// Something has its name by now.
    case name(FilePath)
    /// Another pull is writing it.
    case part(FilePath)

    package var description: String {
        switch self {
        case .name(let path): "\(path) is there by now; pull again to compare it"
        case .part(let path): "\(path) is being written by another pull"
        }
    }
}
