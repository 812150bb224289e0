/// The destination of all copies.
package enum Destination: Sendable {
    case bucket(S3Server)
    /// The path of an existing folder.
    case folder(String)

    /// The tools that support the destination.
    package var tools: [Tool] {
        switch self {
        case .bucket: [.lfs, .wholeWay, .obstore, .s5cmd, .rclone, .aws, .curl]
        case .folder: [.lfs, .wholeWay, .rclone, .cp]
        }
    }

    /// The server's URL or the folder's path.
    var name: String {
        switch self {
        case .bucket(let server): server.endpoint
        case .folder(let path): path
        }
    }
}
