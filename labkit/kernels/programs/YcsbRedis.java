import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import redis.clients.jedis.Jedis;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/**
 * redis for YCSB, one connection for each of its threads. Maven Central has YCSB's core, but none of its bindings.
 *
 * <p>Commands are those of YCSB's own binding, and of labkit's client (kv_protocol.h): a record is a hash, and an insert
 * also enters the key into the sorted set _indices, from which a scan takes keys. Properties: redis.host, redis.port.
 */
public class YcsbRedis extends DB {
    private static final String INDEX = "_indices";
    private Jedis redis;

    @Override
    public void init() {
        Properties given = getProperties();
        redis = new Jedis(given.getProperty("redis.host"), Integer.parseInt(given.getProperty("redis.port")));
        redis.connect();
    }

    @Override
    public void cleanup() {
        redis.close();
    }

    private Status fetched(String key, Set<String> fields, Map<String, ByteIterator> result) {
        Map<String, String> record = redis.hgetAll(key);
        if (fields != null) {
            record.keySet().retainAll(fields);
        }
        StringByteIterator.putAllAsByteIterators(result, record);
        return record.isEmpty() ? Status.NOT_FOUND : Status.OK;
    }

    private static double score(String key) {
        return key.hashCode();
    }

    @Override
    public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
        return fetched(key, fields, result);
    }

    @Override
    public Status scan(
            String table, String start, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result) {
        for (String key : redis.zrangeByScore(INDEX, score(start), Double.POSITIVE_INFINITY, 0, count)) {
            HashMap<String, ByteIterator> record = new HashMap<>();
            fetched(key, fields, record);
            result.add(record);
        }
        return result.isEmpty() ? Status.NOT_FOUND : Status.OK;
    }

    @Override
    public Status update(String table, String key, Map<String, ByteIterator> values) {
        return "OK".equals(redis.hmset(key, StringByteIterator.getStringMap(values))) ? Status.OK : Status.ERROR;
    }

    @Override
    public Status insert(String table, String key, Map<String, ByteIterator> values) {
        Status written = update(table, key, values);
        redis.zadd(INDEX, score(key), key);
        return written;
    }

    @Override
    public Status delete(String table, String key) {
        redis.zrem(INDEX, key);
        return redis.del(key) == 1 ? Status.OK : Status.NOT_FOUND;
    }
}
