import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// A channel handler that adds headers to every reply. It is the last one before the network.
///
/// The handler has no state of its own, and runs on the event loop of its connection.
final class ReplyHeaders: ChannelOutboundHandler, RemovableChannelHandler, Sendable {
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let fields: HTTPFields

    init(isTLS: Bool) { fields = Self.fields(isTLS: isTLS) }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        for field in fields where !head.headerFields.contains(field.name) { head.headerFields.append(field) }
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }

    /// The content policy of all replies: browsers may load only content from this server.
    static let policy = """
        default-src 'none'; img-src 'self' blob:; style-src 'self'; script-src 'self'; connect-src 'self'; \
        form-action 'self'; base-uri 'none'; frame-ancestors 'none'
        """

    static func fields(isTLS: Bool) -> HTTPFields {
        var fields = HTTPFields()
        fields[.contentSecurityPolicy] = policy
        fields[.xContentTypeOptions] = "nosniff"
        fields[.cacheControl] = "no-store"
        for (name, value) in [
            ("X-Frame-Options", "DENY"), ("Referrer-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Embedder-Policy", "require-corp"),
            ("Permissions-Policy", "camera=(), microphone=(), geolocation=()"),
        ] {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        if isTLS { fields[.strictTransportSecurity] = "max-age=31536000" }
        return fields
    }
}
