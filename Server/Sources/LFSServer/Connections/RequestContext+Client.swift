public import Hummingbird
import Logging
import NIOCore

extension RequestContext {
    /// The id of the request in the log, or nil if the log handler does not store metadata. Hummingbird keeps the id in
    /// the logger. Its own property `id` crashes without stored metadata.
    public var requestID: String? { logger[metadataKey: "hb.request.id"].map { "\($0)" } }

    /// Returns the address of the client, or an empty text if it is not known.
    ///
    /// - Parameter trust: the rule for addresses in fields of the request.
    func peer(of request: Request, trust: ForwardedTrust) -> String {
        let address = (self as? any ConnectionContext)?.channel.remoteAddress?.ipAddress ?? ""
        return trust.client(address, headers: request.headers)
    }
}
