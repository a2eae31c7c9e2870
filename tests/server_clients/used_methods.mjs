// A client whose calls are noted, and the check that every public method was called.

// Of BaseClient, for its subclasses.
const INTERNAL = new Set(["constructor", "prepareFetchOptions", "fetch", "streamWithRetry"]);

export const methodsOf = (object) => {
  const names = new Set();
  for (let at = Object.getPrototypeOf(object); at && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at)) if (!INTERNAL.has(name)) names.add(name);
  return names;
};

// "threads.create" and so on, of the parts of a client.
export const methodsOfClient = (client) =>
  Object.entries(client).flatMap(([name, part]) =>
    part && typeof part === "object" ? [...methodsOf(part)].map((method) => `${name}.${method}`) : []);

// `parts`: the members whose own members are noted, as "threads.create".
export const noted = (target, parts, used, name = "") =>
  new Proxy(target, {
    get(object, key) {
      const member = Reflect.get(object, key, object);
      if (!name && parts.has(key)) return noted(member, new Set(), used, `${key}.`);
      used.add(name + String(key));
      return typeof member === "function" ? member.bind(object) : member;
    },
  });

// What neither a test calls nor a reason excuses.
export const unused = (found, used, leftOut) => [
  ...[...found].filter((name) => !used.has(name) && !(name in leftOut)).map((name) => `no test calls ${name}`),
  ...Object.keys(leftOut).filter((name) => used.has(name)).map((name) => `${name} is left out, but it is called`),
];
