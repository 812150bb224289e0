import Crypto
import Foundation
import LFSHTTPStorage

@testable import LFSAzure

extension AzureServer.Place {
    /// Returns a shared access signature of the container ("Create a service SAS"). The library itself only uses
    /// signatures.
    func signature(permissions: String, lasts: TimeInterval = 3_600) -> String {
        let time = UTCTime(Date().addingTimeInterval(lasts))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }
        let day = "\(time.year)-\(two(time.month))-\(two(time.day))"
        let end = "\(day)T\(two(time.hour)):\(two(time.minute)):\(two(time.second))Z"
        let text =
            [permissions, "", end, "/blob/\(server.account)/\(container)", "", "", "", "2021-12-02", "c"]
            .joined(separator: "\n") + String(repeating: "\n", count: 7)
        let key = SymmetricKey(data: Data(base64Encoded: server.accountKey) ?? Data())
        let code = Data(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)).base64EncodedString()
        return
            "sp=\(permissions)&se=\(PercentEncoding.query(end))&sv=2021-12-02&sr=c&sig=\(PercentEncoding.query(code))"
    }
}
