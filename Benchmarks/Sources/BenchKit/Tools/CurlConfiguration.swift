import Foundation

/// A file of options for `curl --config`. It contains the keys, because other users can see command lines.
struct CurlConfiguration {
    private var text: String

    /// - Parameter options: option names without dashes, in the order in which curl reads them.
    init(_ server: S3Server, options: [(name: String, value: String)]) throws {
        var all = [
            ("aws-sigv4", "aws:amz:\(server.region):s3"), ("user", "\(server.accessKey):\(server.secretKey)"),
        ]
        if let token = server.sessionToken { all.append(("header", "x-amz-security-token: \(token)")) }
        text = "silent\nshow-error\nfail\n"
        for (name, value) in all + options {
            guard !value.contains(where: \.isNewline) else { throw BenchError("A value for curl has a line break.") }
            let quoted = value.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"")
            text += "\(name) = \"\(quoted)\"\n"
        }
    }

    func write(to path: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }
}
