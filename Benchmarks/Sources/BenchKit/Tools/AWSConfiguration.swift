import Foundation

/// The settings of the aws command line that are in no option.
enum AWSConfiguration {
    /// Writes them into a folder.
    ///
    /// - Returns: the path of the file.
    static func write(_ connections: Int, in folder: String) throws -> String {
        let text = """
            [default]
            s3 =
              max_concurrent_requests = \(connections)
              addressing_style = path

            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/aws.conf"))
        return folder + "/aws.conf"
    }
}
