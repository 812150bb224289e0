import Foundation

/// The settings of the aws command line that have no option.
enum AWSConfiguration {
    /// Writes the settings into a folder.
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
